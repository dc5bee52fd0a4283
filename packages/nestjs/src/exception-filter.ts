import {
  type ArgumentsHost,
  Catch,
  ConflictException,
  type HttpException,
  Logger,
  ServiceUnavailableException,
} from "@nestjs/common";
import { BaseExceptionFilter } from "@nestjs/core";
import { ClientClosedError, QuorumError, UnavailableError, WaitTimeoutError } from "holdfast";

const BUSY = "Somebody else is working on this: try again later";
const AWAY = "Not available at the moment: try again later";

/** How many seconds an HTTP client should wait before it asks again: most locks are held for less. */
const RETRY_AFTER_S = 2;

/**
 * Answers over HTTP: 409 if another caller has the lock, 503 if Redis does not answer or the application ends, both with `Retry-After`.
 * Use it as `{ provide: APP_FILTER, useClass: HoldfastExceptionFilter }` or by `@UseFilters`. The answer names neither locks nor servers;
 * the log names them for a 503. Nest handles every other error: part of the work may have been done.
 */
@Catch(WaitTimeoutError, UnavailableError, QuorumError, ClientClosedError)
export class HoldfastExceptionFilter extends BaseExceptionFilter {
  readonly #log = new Logger(HoldfastExceptionFilter.name);

  override catch(error: Error, host: ArgumentsHost): void {
    if (host.getType() !== "http") throw error;
    const adapter = this.applicationRef ?? this.httpAdapterHost?.httpAdapter;
    if (adapter === undefined)
      throw new TypeError(
        "HoldfastExceptionFilter has no HTTP adapter: provide it, as in { provide: APP_FILTER, useClass: HoldfastExceptionFilter }, or give it one, new HoldfastExceptionFilter(app.get(HttpAdapterHost).httpAdapter)",
        { cause: error },
      );
    const response = host.switchToHttp().getResponse<object>();
    if (!adapter.isHeadersSent(response)) adapter.setHeader(response, "Retry-After", String(RETRY_AFTER_S));
    super.catch(this.#answerTo(error), host);
  }

  #answerTo(error: Error): HttpException {
    if (error instanceof WaitTimeoutError) return new ConflictException(BUSY, { cause: error });
    this.#log.warn(error.message);
    return new ServiceUnavailableException(AWAY, { cause: error });
  }
}
