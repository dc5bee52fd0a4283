// What the fragments of documents about Nest use without declaring it.

import type { CanActivate, DynamicModule } from "@nestjs/common";
import type { Redis as IoredisClient } from "ioredis";

declare global {
  const { Injectable, Module }: typeof import("@nestjs/common");
  const { Cron }: typeof import("@nestjs/schedule");
  const { Test }: typeof import("@nestjs/testing");
  const { HoldfastInspectorModule, HoldfastModule, Locked }: typeof import("../../src/index.js");
  const Redis: typeof IoredisClient;

  // The reader's application.
  class AdminGuard implements CanActivate {
    canActivate(): boolean;
  }
  class AppModule {}
  class Orders {}
  const locks: DynamicModule;
  const bank: string;
}
