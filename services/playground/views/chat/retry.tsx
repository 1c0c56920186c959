import { RequestError } from '@agent-workflow/client';
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toasts.tsx';
import { choiceOf } from './agent-picker.tsx';
import type { Chat } from './chat.ts';
import { takeOptions } from './options.tsx';
import type { RunInput } from './run-inputs.ts';

interface RetryProps {
  readonly chat: Chat;
  readonly runId: string;
  /** A run that failed begins again with the step that failed; one that was stopped is sent once more. */
  readonly isFailed: boolean;
}

const unknown: RunInput = { messages: [], checkpointId: undefined };

/** What a run began with; no messages while it is not known. What cannot be read cannot be sent again: the box is there for it. */
function useInput(chat: Chat, runId: string, isWanted: boolean): RunInput {
  const [input, setInput] = useState(unknown);
  useEffect(() => {
    let isLeft = false;
    setInput(unknown);
    if (isWanted)
      chat.inputOf(runId).then(
        (read) => {
          if (!isLeft) setInput(read);
        },
        () => undefined,
      );
    return () => {
      isLeft = true;
    };
  }, [chat, runId, isWanted]);
  return input;
}

/** Tries a run again. Where a failed one cannot be gone on with, its messages are sent again. */
export function Retry({ chat, runId, isFailed }: RetryProps) {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const isRefused = error instanceof RequestError && error.status === 409;
  const input = useInput(chat, runId, !isFailed || isRefused);
  const doing = (work: () => Promise<void>): void => {
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    work()
      .catch(setError)
      .finally(() => setBusy(false));
  };
  const sendAgain = async (): Promise<void> => {
    const request = takeOptions(choiceOf(chat).name);
    if (!request) return;
    if (isFailed) await chat.start({ ...request, messages: input.messages });
    else {
      await chat.startAnew(request, input);
      toast({ text: 'The stopped answer stays in the versions of the thread, which “State” opens.' });
    }
  };
  return (
    <>
      {error !== undefined && chat.thread.missing.value === undefined && <ErrorNote error={error} />}
      {isFailed && !isRefused && (
        <button type="button" aria-disabled={isBusy} onClick={() => doing(() => chat.retry(runId))}>
          <Icon name="retry" />
          Retry
        </button>
      )}
      {input.messages.length > 0 && (
        <button type="button" class="button-quiet" aria-disabled={isBusy} onClick={() => doing(sendAgain)}>
          <Icon name="retry" />
          {isFailed ? 'Send again' : 'Retry'}
        </button>
      )}
    </>
  );
}
