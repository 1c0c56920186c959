import { ConfigError } from '@agent-workflow/kit/env';
import test from 'ava';
import { readModelAccess, readSummarizeOver } from './settings.ts';

const all = { OPENAI_BASE_URL: 'https://models.example/v1', OPENAI_API_KEY: 'sk-secret', MODEL: 'small-1' };

test('without a model named the agent has none, whatever key is about', (t) => {
  t.is(readModelAccess({ OPENAI_API_KEY: '' }), undefined);
  t.is(readModelAccess({ ...all, MODEL: '' }), undefined);
});

test('all three name a model', (t) => {
  t.deepEqual(readModelAccess(all), { baseUrl: all.OPENAI_BASE_URL, apiKey: 'sk-secret', model: 'small-1' });
});

test('a model without the way to it stops the start, naming what is missing', (t) => {
  const error = t.throws(() => readModelAccess({ MODEL: 'small-1' }), { instanceOf: ConfigError });
  t.is(error.message, 'OPENAI_BASE_URL and OPENAI_API_KEY must be set too, because MODEL is');
  t.throws(() => readModelAccess({ ...all, OPENAI_API_KEY: '' }), { message: /^OPENAI_API_KEY must be set too/ });
});

test('an address that is none stops the start', (t) => {
  for (const address of ['models.example/v1', 'file:///etc', 'https://'])
    t.throws(() => readModelAccess({ ...all, OPENAI_BASE_URL: address }), {
      message: /^OPENAI_BASE_URL must be an http/,
    });
});

test('the agent summarises over 60 messages, or over what is set, and nonsense stops the start', (t) => {
  t.is(readSummarizeOver({}), 60);
  t.is(readSummarizeOver({ SUMMARIZE_OVER_MESSAGES: '200' }), 200);
  t.throws(() => readSummarizeOver({ SUMMARIZE_OVER_MESSAGES: '1' }), {
    instanceOf: ConfigError,
    message: /^SUMMARIZE_OVER_MESSAGES must be a whole number from 2 to 1000000, not "1"$/,
  });
});

test('what the model takes beside text is a list of kinds, or none, and any other word is refused', (t) => {
  const taken = (given: string) => readModelAccess({ ...all, MODEL_INPUT_MODALITIES: given })?.inputModalities;
  t.deepEqual(taken('image, document'), ['image', 'document']);
  t.deepEqual(taken('none'), []);
  t.throws(() => taken('pictures'), {
    message: /^MODEL_INPUT_MODALITIES must name image, audio, video, document or none/,
  });
});
