import { integer, text, type Settings, type Values } from '@agent-workflow/kit/env';
import { grantSettings } from '@agent-workflow/runtime/pool-credentials';
import { processSettings, securityChecks, securitySettings } from '@agent-workflow/runtime/process';
import { serviceAddress } from '@agent-workflow/runtime/service-address';
import { listenHostOf, serviceFileSettings, type AuthMode } from '@agent-workflow/runtime/service-file';
import { authSettings } from './auth/settings.ts';
import { dialectSettings } from './dialects/settings.ts';
import { fileChecks, fileSettings, sharedFileChecks } from './files/index.ts';
import { requestSettings } from './http/settings.ts';
import { limitSettings } from './limits/index.ts';
import { browserChecks, browserSettings } from './middleware/settings.ts';
import { pageChecks, pageSettings } from './pages/settings.ts';
import { redisSettings } from './redis/settings.ts';

/** Settings of the gateway. */
export const gatewaySettings = {
  ...processSettings,
  HOST: text(undefined, 'Address to listen on; `127.0.0.1` while `auth` is null, else `0.0.0.0`'),
  PORT: integer(8000, 'Port to listen on; 0 takes a free one', { max: 65_535 }),
  ...serviceFileSettings,
  ...requestSettings,
  ...fileSettings,
  ...authSettings,
  ...limitSettings,
  ...browserSettings,
  ...pageSettings,
  ...dialectSettings,
} satisfies Settings;

/** What must hold between them. */
export const gatewayChecks = [...fileChecks, ...browserChecks, ...pageChecks];

/** Settings of a gateway that is a process of its own. */
export const gatewayProcessSettings = {
  ...gatewaySettings,
  ...redisSettings,
  ...securitySettings,
  ...grantSettings,
  THREADS_ADDRESS: serviceAddress('threads'),
  EXECUTION_ADDRESS: serviceAddress('execution'),
  MEMORY_ADDRESS: serviceAddress('memory'),
} satisfies Settings;

/** What must hold between them. */
export const gatewayProcessChecks = [...securityChecks, ...sharedFileChecks, ...browserChecks, ...pageChecks];

export type GatewayConfig = Values<typeof gatewaySettings>;

/** The address to listen on: `HOST`, else all addresses when callers must authenticate, else the loopback. */
export const hostOf = (config: Pick<GatewayConfig, 'HOST'>, file: { readonly auth: AuthMode }): string =>
  config.HOST ?? listenHostOf(file.auth);
