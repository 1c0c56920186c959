import { questionOf } from '../../ui/questions/question.ts';
import type { RunState } from './run-state.ts';

/** What an agent waits for before its run goes on. */
export interface OpenWait {
  readonly kind: 'question' | 'call';
  /** The question that any text answers; absent where several are open, and where the answer has a form. */
  readonly answerable?: string;
}

/** What the newest run of a thread waits for; `undefined` where a message goes past nothing. */
export function openWaitOf(run: RunState | undefined): OpenWait | undefined {
  if (run?.status !== 'interrupted') return undefined;
  const { interrupts = [], calls = [] } = run;
  if (interrupts.length === 0) return calls.length === 0 ? undefined : { kind: 'call' };
  const [only, ...others] = interrupts;
  const form = only && questionOf(only).form;
  const takesText = others.length === 0 && (form === undefined || (form.isBare && form.fields[0]?.kind === 'text'));
  return { kind: 'question', ...(only && takesText && { answerable: only.id }) };
}
