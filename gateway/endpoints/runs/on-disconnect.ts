import { within } from '@agent-workflow/protos/call';
import type { RunInput } from '../../schemas/graph.ts';
import type { Ask } from '../../http/endpoint.ts';
import type { Services } from '../common/services.ts';

/** Stops the run when its caller goes away, where the caller asked for that; otherwise it goes on alone. */
export function stopWhenGone(
  { input, owner, whenGone }: Ask<unknown, RunInput>,
  runId: string,
  services: Services,
): void {
  if (input.config?.on_disconnect !== 'cancel') return;
  const { execution, config, log } = services;
  whenGone(() => {
    execution.stopRun({ owner, runId }, within(config.CALL_TIMEOUT_MS)).catch((error: unknown) => {
      log.warn({ err: error, run_id: runId }, 'a run whose caller went away could not be stopped');
    });
  });
}
