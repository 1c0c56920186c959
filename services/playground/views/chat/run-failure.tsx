import type { RunError } from '@agent-workflow/client';
import type { ComponentChildren } from 'preact';
import { Plain } from '../../ui/plain.tsx';
import type { Thrown } from '../runs/trace/cause.ts';
import { useThrown } from '../runs/trace/thrown.ts';
import type { Chat } from './chat.ts';
import { failureWords } from './failure-words.ts';
import { Retry } from './retry.tsx';
import type { RunState } from './run-state.ts';

interface RunFailureProps {
  readonly chat: Chat;
  readonly run: RunState;
  readonly error: RunError;
}

/** Why the newest run failed, in words, and the way to try it again. */
export function RunFailure({ chat, run, error }: RunFailureProps) {
  const thrown = useThrown({ run_id: run.runId, error });
  return (
    <FailedRun {...{ error, thrown }}>
      <Retry {...{ chat }} runId={run.runId} isFailed />
    </FailedRun>
  );
}

interface FailedRunProps {
  readonly error: RunError;
  readonly thrown?: Thrown | undefined;
  readonly children?: ComponentChildren;
}

/** Why a run failed, in words. */
export function FailedRun({ error, thrown, children }: FailedRunProps) {
  const { what, message, meaning } = failureWords(error, thrown);
  return (
    <div class="run-failure">
      <div role="alert">
        <p class="run-failure-what">
          {what} <code>{error.code}</code>
        </p>
        <Plain text={message} />
        {meaning !== '' && <p class="hint">{meaning}</p>}
      </div>
      {children}
    </div>
  );
}
