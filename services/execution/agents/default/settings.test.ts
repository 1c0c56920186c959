import { ConfigError } from '@agent-workflow/kit/env';
import test from 'ava';
import { readModelAccess } from './settings.ts';

const all = { OPENAI_BASE_URL: 'https://models.example/v1', OPENAI_API_KEY: 'sk-secret', MODEL: 'small-1' };

test('without any of the three the agent has no model', (t) => {
  t.is(readModelAccess({ OPENAI_API_KEY: '' }), undefined);
});

test('all three name a model', (t) => {
  t.deepEqual(readModelAccess(all), { baseUrl: all.OPENAI_BASE_URL, apiKey: 'sk-secret', model: 'small-1' });
});

test('some of the three stop the start, naming those that are missing', (t) => {
  const error = t.throws(() => readModelAccess({ OPENAI_API_KEY: 'sk-secret' }), { instanceOf: ConfigError });
  t.is(
    error.message,
    'OPENAI_BASE_URL and MODEL must be set too: OPENAI_BASE_URL, OPENAI_API_KEY, MODEL name a model only together',
  );
  t.throws(() => readModelAccess({ ...all, MODEL: '' }), { message: /^MODEL must be set too/ });
});

test('an address that is none stops the start', (t) => {
  for (const address of ['models.example/v1', 'file:///etc', 'https://'])
    t.throws(() => readModelAccess({ ...all, OPENAI_BASE_URL: address }), {
      message: /^OPENAI_BASE_URL must be an http/,
    });
});
