import test from 'ava';
import { toLogText } from './log-text.ts';

test('a line of the log is text with its time, level, message and other fields', (t) => {
  const line = {
    level: 40,
    time: '2026-11-23T07:15:11.718Z',
    service: 'standalone',
    runId: 'r1',
    count: 2,
    msg: 'late',
  };
  t.is(toLogText(JSON.stringify(line)), '07:15:11 warn late runId=r1 count=2');
  t.is(toLogText(JSON.stringify({ ...line, level: 45, config: { A: 1 } })), '07:15:11 45 late runId=r1 count=2');
});

test('an error without stacks is the line of its messages', (t) => {
  const cause = { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' };
  const err = { type: 'Unavailable', message: 'the record is unavailable', code: 'Unavailable', cause };
  const line = { level: 40, time: '2026-11-23T07:15:11.718Z', msg: 'it is tried again' };
  t.is(
    toLogText(JSON.stringify({ ...line, err })),
    '07:15:11 warn it is tried again err="the record is unavailable: connect ECONNREFUSED"',
  );
  const fault = { type: 'TypeError', message: 'x', stack: 'at y' };
  t.true(toLogText(JSON.stringify({ ...line, err: { ...err, cause: fault } })).includes('at y'));
});

test('what is no line of the log stays as it is', (t) => {
  for (const text of ['', 'plain text', '{ broken', '[1]']) t.is(toLogText(text), text);
});
