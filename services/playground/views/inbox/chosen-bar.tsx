import { useEffect, useState } from 'preact/hooks';
import { counted } from '../../ui/format.ts';
import type { Resume } from '../../ui/questions/answer.ts';
import { answerAll, answerLater } from './answering.ts';
import { verdictOn } from './verdicts.ts';
import type { Waiting } from './waiting.ts';

interface ChosenBarProps {
  readonly chosen: readonly Waiting[];
  /** Called when they are answered, or none is to be chosen. */
  readonly onDone: () => void;
}

type Ready = readonly (readonly [Waiting, Resume])[];

/** Answers the chosen questions at once. Those that want more than a word are left, and the bar says so. */
export function ChosenBar({ chosen, onDone }: ChosenBarProps) {
  const approved = useVerdicts(chosen, 'approve');
  const rejected = useVerdicts(chosen, 'reject');
  if (chosen.length === 0) return null;
  const left = chosen.length - Math.max(approved.length, rejected.length);
  const reject = (): void => {
    void answerLater(rejected, `${counted(rejected.length, 'question')} rejected.`);
    onDone();
  };
  const approve = (): void => {
    void answerAll(approved);
    onDone();
  };
  return (
    <div class="chosen-bar" role="group" aria-label="Chosen questions">
      <span>
        {chosen.length} chosen
        {left > 0 && <span class="hint"> · {left} want an answer of their own</span>}
      </span>
      <button type="button" class="button-quiet" onClick={onDone}>
        Clear
      </button>
      <button type="button" disabled={rejected.length === 0} onClick={reject}>
        Reject {rejected.length}
      </button>
      <button type="button" disabled={approved.length === 0} onClick={approve}>
        Approve {approved.length}
      </button>
    </div>
  );
}

/** Those of the chosen that a word answers, with their answers. */
function useVerdicts(chosen: readonly Waiting[], kind: 'approve' | 'reject'): Ready {
  const [ready, setReady] = useState<Ready>([]);
  const names = chosen.map(({ id, runId }) => `${id} ${String(runId)}`).join('\n');
  useEffect(() => {
    let isCurrent = true;
    void Promise.all(chosen.map(async (each) => [each, await verdictOn(each.questions, kind)] as const)).then(
      (read) => {
        if (isCurrent) setReady(read.flatMap(([each, resume]) => (resume ? [[each, resume] as const] : [])));
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [names]);
  return ready;
}
