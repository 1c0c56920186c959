import { useAction } from '../../../session/action.ts';
import { useKeys } from '../../../session/keys.ts';
import { go } from '../../../session/route.ts';
import { client } from '../../../session/session.ts';
import { copyText } from '../../../session/clipboard.ts';
import { Icon } from '../../../ui/icon.tsx';
import { toast } from '../../../ui/toasts.tsx';
import { describe } from '../../../session/session.ts';
import { linkTo, type RunPlace } from './run-address.ts';
import type { KnownTrace } from './followed-trace.ts';
import { statusOfNode, type SpanNode } from './span-tree.ts';
import type { StepRecords } from './step-records.ts';

interface SpanActionsProps {
  readonly node: SpanNode;
  readonly trace: KnownTrace;
  readonly records: StepRecords;
  /** What the link leads to. */
  readonly place: RunPlace;
}

/** What can be done at a span: its step again, a fork from before it, a link to it. */
export function SpanActions({ node, trace, records, place }: SpanActionsProps) {
  const { run_id: runId, thread_id: threadId, status } = trace.head;
  const { step } = node.span;
  const last = trace.tree.at(-1)?.span.step;
  // The service tries a failed run again from the step in which it failed, and from no other.
  const canRetry = status === 'failed' && step === last && statusOfNode(node) === 'failed';
  const retry = useAction<[]>(async (signal) => {
    const again = await orNotice(client.runs.retry(runId, { signal }));
    if (again) go({ view: 'runs', id: again.run_id });
  });
  const fork = useAction<[]>(async (signal) => {
    const { beforeId } = await records.read(step, signal);
    if (beforeId === undefined) {
      toast({ text: `The state before step ${String(step)} is no longer kept: it cannot be forked there.` });
      return;
    }
    const made = await orNotice(client.threads.fork(threadId, beforeId, { signal }));
    if (!made) return;
    toast({ text: `A new thread, as this one was before step ${String(step)}.` });
    go({ view: 'chat', id: made.thread_id });
  });
  const copyLink = (): void => {
    copyText(linkTo(runId, place)).then(
      () => toast({ text: 'The link to this step is copied.' }),
      () => toast({ text: 'The browser did not let the page copy.' }),
    );
  };
  useKeys([
    { keys: 'f', text: 'Fork from the chosen step', group: 'Run', run: () => fork.start() },
    { keys: '.', text: 'Copy the link to the chosen step', group: 'Run', run: copyLink },
    ...(canRetry ? [{ keys: 'r', text: 'Retry from the failed step', group: 'Run', run: () => retry.start() }] : []),
  ]);
  return (
    <span class="span-actions">
      {canRetry && (
        <button
          type="button"
          class="button-quiet button-sign"
          aria-label="Retry from here"
          title="Retry from here (R)"
          onClick={() => retry.start()}
        >
          <Icon name="retry" />
        </button>
      )}
      <button
        type="button"
        class="button-quiet button-sign"
        aria-label="Fork from here"
        title="Fork from here (F)"
        onClick={() => fork.start()}
      >
        <Icon name="fork" />
      </button>
      <button
        type="button"
        class="button-quiet button-sign"
        aria-label="Copy link"
        title="Copy link (.)"
        onClick={copyLink}
      >
        <Icon name="link" />
      </button>
    </span>
  );
}

/** What the service refuses is said in a corner: the page stays as it is. */
async function orNotice<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DOMException)) toast({ text: describe(error), ms: 10_000 });
    return undefined;
  }
}
