import type { ServiceEndpoint } from '@agent-workflow/gateway/dialects/services';
import type { Dialects } from '@agent-workflow/gateway/http/dialect';
import { openStandalone } from '@agent-workflow/standalone/standalone';
import { makeWorkspace } from './standalone.ts';

export interface Embedded extends AsyncDisposable {
  readonly url: string;
  /** The one address in front of all gateways, where there are several and `url` names them in turn. */
  readonly origin?: string;
}

/**
 * Opens the whole service in this process on a free port; it keeps nothing. `agent` is a file of `test/agents` without
 * its ending; `null`: none is configured. `service` adds to `service.json`; `dialects` replaces those of the gateway.
 */
export async function openEmbedded(
  agent: string | null,
  env: Readonly<Record<string, string>> = {},
  service: Readonly<Record<string, unknown>> = {},
  dialects?: Dialects<ServiceEndpoint>,
): Promise<Embedded> {
  await using workspace = await makeWorkspace(agent, service);
  const all = { ...workspace.env, DATA_DIR: ':memory:', PORT: '0', LOG_LEVEL: 'silent', ...env };
  return await openStandalone(all, { dialects });
}
