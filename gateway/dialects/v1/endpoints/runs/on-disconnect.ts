import { within } from '@agent-workflow/protos/call';
import type { RunInput } from '../../schemas/graph.ts';
import type { EndpointRequest } from '../../../../http/endpoint.ts';
import type { Services } from '../../../common/services.ts';

/** With `on_disconnect: cancel`, stops the run when its caller disconnects; otherwise the run goes on. */
export function stopOnDisconnect(
  { input, owner, onDisconnect }: EndpointRequest<unknown, RunInput>,
  runId: string,
  services: Services,
): void {
  if (input.config?.on_disconnect !== 'cancel') return;
  const { execution, config, log } = services;
  onDisconnect(() => {
    execution.stopRun({ owner, runId }, within(config.CALL_TIMEOUT_MS)).catch((error: unknown) => {
      log.warn({ err: error, run_id: runId }, 'a run whose caller disconnected could not be stopped; it goes on');
    });
  });
}
