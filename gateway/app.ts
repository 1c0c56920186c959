import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import Koa from 'koa';
import { withoutAuthentication } from './auth/none.ts';
import type { Services } from './endpoints/endpoint.ts';
import { endpoints } from './endpoints/table.ts';
import { authentication, type Authenticate } from './middleware/authenticate.ts';
import type { Authorize } from './middleware/authorize.ts';
import type { RequestState } from './middleware/context.ts';
import { errors } from './middleware/errors.ts';
import { accessLog } from './middleware/log.ts';
import { decodablePath } from './middleware/path.ts';
import { requestId } from './middleware/request-id.ts';
import { routing } from './middleware/router.ts';
import { unmatched } from './middleware/unmatched.ts';
import { toOpenApi } from './replies/openapi.ts';

export type App = Koa<RequestState>;

export type AppOptions = Omit<Services, 'openApi'> & {
  /** Who calls; without it everybody is the anonymous owner. */
  readonly authenticate?: Authenticate;
  /** What a caller may; without it, everything. */
  readonly authorize?: Authorize;
};

/** The HTTP interface on these services. The order of the steps is the order in which a request can be refused. */
export function createApp({ authenticate = withoutAuthentication, authorize, ...deps }: AppOptions): App {
  const services: Services = { ...deps, openApi: once(() => JSON.stringify(toOpenApi(endpoints))) };
  const app: App = new Koa<RequestState>();
  app.setMaxListeners(0);
  app.use(requestId);
  app.use(accessLog(deps.log));
  app.use(errors);
  app.use(decodablePath);
  app.use(authentication(authenticate));
  app.use(routing({ endpoints, services, authorize }));
  app.use(unmatched);
  app.on('error', reportTo(deps.log));
  return app;
}

/** What fails outside the middleware: a connection that broke is its caller's business. */
const reportTo =
  (log: Log) =>
  (error: unknown): void => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (brokenConnection.has(code) || isServiceError(error, 'Cancelled')) return;
    log.error({ err: error }, 'reply failed');
  };

const brokenConnection = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
]);

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}
