import { within } from '@agent-workflow/protos/call';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { Services } from '../../common/services.ts';

/** Stops a run when its caller leaves before the reply is sent: clients of the version without a handshake cancel so. */
export function stopOnLeave(
  { owner, onDisconnect }: Pick<EndpointRequest, 'owner' | 'onDisconnect'>,
  runIdOf: () => string,
  { config, execution, log }: Pick<Services, 'config' | 'execution' | 'log'>,
): void {
  onDisconnect(() => {
    const runId = runIdOf();
    execution.stopRun({ owner, runId }, within(config.CALL_TIMEOUT_MS)).catch((error: unknown) => {
      log.warn({ err: error, run_id: runId }, 'a run whose caller disconnected could not be stopped; it goes on');
    });
  });
}
