import test from 'ava';
import { readTrace } from '@agent-workflow/protos/stored-trace';
import { runTraced } from '../trace/current-span.ts';
import { StepTrace } from '../trace/step-trace.ts';
import { beginAnswer } from './traced-answer.ts';

const finishOf = (reason: unknown): string | undefined => {
  const trace = new StepTrace({ start: 0, now: () => 0 });
  const question = { instructions: '', messages: [], tools: [] };
  const { signal } = new AbortController();
  const answer = runTraced({ span: trace.step, context: [] }, () => beginAnswer({ name: 'm', question, signal }));
  answer?.take({ type: 'finish', reason });
  answer?.end();
  const { spansJson } = trace.toStored() ?? {};
  return spansJson && readTrace(spansJson).spans[0]?.finish;
};

test('the reason for which an answer ended is a text, and cut between characters', (t) => {
  t.is(finishOf('stop'), 'stop');
  t.is(finishOf(Object.create(null)), undefined);
  t.is(finishOf(`${'x'.repeat(63)}𝒳`), `${'x'.repeat(63)}\ufffd`);
});
