// #region main
import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { AppModule } from "./app.module.js";

const app = await NestFactory.create(AppModule, { logger: ["error", "warn"] });
app.enableShutdownHooks(); // on SIGTERM locks are freed, and then the connection
await app.listen(process.env["PORT"] ?? 0, "127.0.0.1");
// #endregion

// Whoever has started it, here play.mjs, hears where it is to be found.
process.send?.(app.getHttpServer().address());
