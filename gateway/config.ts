import { budgetSettings } from '@agent-workflow/kit/budget';
import { integer, required, text, type Settings, type Values } from '@agent-workflow/kit/env';
import { processSettings, securitySettings } from '@agent-workflow/kit/process';
import { listenHostOf, serviceFileSettings, type AuthMode } from '@agent-workflow/kit/service-file';
import { sizes } from '@agent-workflow/kit/sizes';
import { authSettings } from './auth/settings.ts';
import { limitSettings } from './limits/settings.ts';
import { storeSettings } from './stores/settings.ts';

/** What the environment says about the edge. */
export const gatewaySettings = {
  ...processSettings,
  HOST: text(undefined, 'Address to listen on; `127.0.0.1` while `auth` is null, else `0.0.0.0`'),
  PORT: integer(8000, 'Port to listen on; 0 takes a free one', { max: 65_535 }),
  ...serviceFileSettings,
  MAX_BODY_BYTES: integer(sizes.body, 'Largest request body, in bytes', { min: 1024 }),
  ...budgetSettings,
  CALL_TIMEOUT_MS: integer(30_000, 'Deadline of a call to a service, in milliseconds', { min: 1 }),
  INVOKE_TIMEOUT_MS: integer(300_000, 'How long invoke waits for its run, in milliseconds; the run itself goes on', {
    min: 1,
    max: 2_147_483_647,
  }),
  STREAM_COMMENT_SECONDS: integer(15, 'Seconds without an event after which a stream sends a comment line', {
    min: 1,
    max: 86_400,
  }),
  ...authSettings,
  ...limitSettings,
} satisfies Settings;

/** What the gateway reads as a process of its own. */
export const gatewayProcessSettings = {
  ...gatewaySettings,
  ...storeSettings,
  ...securitySettings,
  THREADS_ADDRESS: required('Where the threads service listens: `host:port`, or a gRPC target'),
  EXECUTION_ADDRESS: required('Where the execution service listens: `host:port`, or a gRPC target'),
  MEMORY_ADDRESS: required('Where the memory service listens: `host:port`, or a gRPC target'),
} satisfies Settings;

export type GatewayConfig = Values<typeof gatewaySettings>;

/** The address to listen on: the loopback unless the operator opens the door or callers must sign in. */
export const hostOf = (config: Pick<GatewayConfig, 'HOST'>, file: { readonly auth: AuthMode }): string =>
  config.HOST ?? listenHostOf(file.auth);
