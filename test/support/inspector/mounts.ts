import "reflect-metadata";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express from "express";
import fastify from "fastify";
import helmet from "helmet";
import { Hono } from "hono";
import Koa from "koa";
import type { Inspector } from "../../../src/inspector/index.js";

/** Where each of the programs has its inspector. */
export const PATH = "/a/b/locks";

/** Is told what has to be closed after the test. */
type Closing = (close: () => unknown) => void;

/** Starts a program with an inspector. @returns its address, without the path */
export type Mount = (locks: Inspector, closing: Closing) => Promise<string>;

async function listening(server: Server, closing: Closing): Promise<string> {
  if (!server.listening) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  closing(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export const onHttp: Mount = (locks, closing) =>
  listening(
    createServer((request, response) => {
      const isLocks = (request.url ?? "").startsWith(PATH);
      if (isLocks) locks.node(request, response);
      else response.writeHead(404).end("of the program");
    }),
    closing,
  );

const onExpress: Mount = (locks, closing) => {
  const app = express();
  app.use(express.json());
  app.use(PATH, locks.node);
  app.use((_, response) => void response.status(404).send("of the program"));
  return listening(createServer(app), closing);
};

/** With its default policy before all routes. */
const onExpressWithHelmet: Mount = (locks, closing) => {
  const app = express();
  app.use(helmet());
  app.use(PATH, locks.node);
  app.use((_, response) => void response.status(404).send("of the program"));
  return listening(createServer(app), closing);
};

const onFastify: Mount = async (locks, closing) => {
  const app = fastify();
  closing(() => app.close());
  for (const path of [PATH, `${PATH}/`]) {
    app.all(path, (request, reply) => {
      reply.hijack();
      locks.node(request.raw, reply.raw);
    });
  }
  app.setNotFoundHandler((_, reply) => reply.status(404).send("of the program"));
  return app.listen({ port: 0, host: "127.0.0.1" });
};

const onKoa: Mount = (locks, closing) => {
  const app = new Koa();
  app.use((context) => {
    if (!context.path.startsWith(PATH)) {
      context.body = "of the program";
      context.status = 404;
      return;
    }
    context.respond = false;
    locks.node(context.req, context.res);
  });
  return listening(createServer(app.callback() as RequestListener), closing);
};

const onHono: Mount = async (locks, closing) => {
  const app = new Hono();
  for (const path of [PATH, `${PATH}/`]) app.all(path, (context) => locks.fetch(context.req.raw, context));
  app.notFound((context) => context.text("of the program", 404));
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
  await once(server, "listening");
  return listening(server, closing);
};

class Program {}
Module({})(Program);

const onNest: Mount = async (locks, closing) => {
  const app = await NestFactory.create(Program, { logger: false });
  app.use(PATH, locks.node);
  app.use((_: unknown, response: express.Response) => void response.status(404).send("of the program"));
  closing(() => app.close());
  await app.listen(0, "127.0.0.1");
  return app.getUrl();
};

/** The frameworks that the guide names. */
export const mounts: readonly (readonly [string, Mount])[] = [
  ["node:http", onHttp],
  ["Express", onExpress],
  ["Express behind helmet", onExpressWithHelmet],
  ["Fastify", onFastify],
  ["Koa", onKoa],
  ["Hono", onHono],
  ["Nest", onNest],
];
