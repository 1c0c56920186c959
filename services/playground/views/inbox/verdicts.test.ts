import type { Json } from '@agent-workflow/client';
import test from 'ava';
import { questionOf } from '../../ui/questions/question.ts';
import { verdictOn } from './verdicts.ts';

const asked = (id: string, value: Json) => questionOf({ id, node: 'ask', value });
const choice = asked('1', { question: 'Refund?', options: ['approve', 'reject'] });
const consent = asked('2', {
  question: 'Send?',
  schema: { type: 'object', properties: { approved: { type: 'boolean' }, note: { type: 'string' } } },
});
const strict = asked('3', {
  question: 'Close?',
  schema: {
    type: 'object',
    properties: { approved: { type: 'boolean' }, why: { type: 'string', minLength: 1 } },
    required: ['approved', 'why'],
  },
});

test('questions that have the buttons are answered by a word, each in its own form', async (t) => {
  t.deepEqual(await verdictOn([choice, consent], 'approve'), { 1: 'approve', 2: { approved: true } });
  t.deepEqual(await verdictOn([choice], 'reject'), { 1: 'reject' });
});

test('a question that wants more than a word is not answered by one, nor are those beside it', async (t) => {
  t.is(await verdictOn([choice, asked('4', 'Which city?')], 'approve'), undefined);
  t.is(await verdictOn([strict], 'approve'), undefined);
  t.is(await verdictOn([], 'approve'), undefined);
});
