import type { CodeCalls, CodeService, Reduce } from '@agent-workflow/execution/ports/code-calls';
import type { HeldAgents } from '@agent-workflow/execution/ports/queue';

/** A process that holds agents. */
interface CodeWorker {
  readonly service: CodeService;
  /** As SIGKILL would: nothing is answered any more. */
  readonly die: () => Promise<void>;
}

/** A process without code, and those that hold it; disposed of together. */
export interface CodeGround extends AsyncDisposable {
  readonly calls: CodeCalls;
  readonly openWorker: (held: HeldAgents, reduce: Reduce) => Promise<CodeWorker>;
}
