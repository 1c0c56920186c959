import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { readPutReply } from './put-reply.ts';

const refusal = (code: number, description: string): Parameters<typeof readPutReply>[0] => ({
  error: { err_code: code, description },
});

test('a run that waits already is recognised by the code of the refusal, whatever its text', (t) => {
  t.true(readPutReply({}));
  t.false(readPutReply(refusal(10_071, 'wrong last sequence: 7')));
  t.false(readPutReply(refusal(10_164, 'wrong last sequence')));
  t.false(readPutReply(refusal(10_071, 'a text of some later server')));
});

test('any other refusal is Unavailable, whatever its text', (t) => {
  const texts = ['maximum bytes exceeded', 'maximum messages per subject exceeded', 'wrong last sequence'];
  for (const text of texts) {
    const error = t.throws(() => readPutReply(refusal(10_077, text)));
    t.true(isServiceError(error, 'Unavailable'));
  }
});
