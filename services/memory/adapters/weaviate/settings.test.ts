import test from 'ava';
import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import { readWeaviateConfig, weaviateSettings, type WeaviateConfig } from './settings.ts';

const read = (env: Record<string, string>): WeaviateConfig | undefined =>
  readWeaviateConfig(readEnv(weaviateSettings, env));

test('without WEAVIATE_URL there is no Weaviate', (t) => {
  t.is(read({ WEAVIATE_API_KEY: 'sesame' }), undefined);
});

test('the settings are read as they are written', (t) => {
  const env = { WEAVIATE_URL: 'https://vectors:8443/', WEAVIATE_API_KEY: 'sesame', WEAVIATE_IDLE_SECONDS: '5' };
  t.deepEqual(read(env), {
    url: 'https://vectors:8443',
    apiKey: 'sesame',
    prefix: 'AgentMemories',
    requestTimeoutMs: 10_000,
    idleMs: 5000,
  });
});

for (const [name, value] of [
  ['WEAVIATE_URL', 'localhost:8080'],
  ['WEAVIATE_URL', 'ftp://vectors'],
  ['WEAVIATE_URL', 'http://ada:secret@vectors'],
  ['WEAVIATE_URL', 'http://vectors/v1'],
  ['WEAVIATE_PREFIX', 'lower'],
  ['WEAVIATE_PREFIX', 'A) { x'],
] as const) {
  test(`${name} is refused as ${JSON.stringify(value)}`, (t) => {
    const error = t.throws(() => read({ WEAVIATE_URL: 'http://vectors', [name]: value }), { instanceOf: ConfigError });
    t.true(error.message.startsWith(name));
    t.false(error.message.includes('secret'));
  });
}
