/**
 * A shop on Nest, with all that holdfast-nestjs has. It tells its port, the summaries of its operations, and what it does, and goes on with
 * SIGTERM, and with a line on its standard input. Arguments: the URL of Redis,
 * `express` or `fastify`, and `graphql` where it is to have resolvers as well.
 */
import "reflect-metadata";
import { ApolloDriver, type ApolloDriverConfig } from "@nestjs/apollo";
import { NestFactory } from "@nestjs/core";
import { GraphQLModule } from "@nestjs/graphql";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { DocumentBuilder, SwaggerModule } from "@nestjs/swagger";
import { tell } from "./lines.js";
import { ShopModule } from "./shop.module.js";

async function main(redisUrl: string, framework: string, query?: string): Promise<void> {
  const graphql = GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true });
  const shop = ShopModule.with(redisUrl, query === "graphql" ? [graphql] : []);
  const options = { logger: ["error" as const] };
  const app =
    framework === "express"
      ? await NestFactory.create(shop, options)
      : await NestFactory.create(shop, new FastifyAdapter(), options);
  app.enableShutdownHooks();
  const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  await app.listen(0, "127.0.0.1");
  const { port } = app.getHttpServer().address();
  const summaries = Object.values(paths).flatMap(({ get }) => get?.summary ?? []);
  tell({ event: "ready", port, summaries, node: process.version });
}

const [, , redisUrl = "", framework = "express", query] = process.argv;
void main(redisUrl, framework, query);
