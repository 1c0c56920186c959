import test from 'ava';
import { openExecutionProcess } from '@agent-workflow/execution/process';
import { openGatewayProcess } from '@agent-workflow/gateway/process';
import { ConfigError, type Env } from '@agent-workflow/kit/env';
import { openMemoryProcess } from '@agent-workflow/memory/process';
import { openStandalone } from '@agent-workflow/standalone/standalone';
import { openThreadsProcess } from '@agent-workflow/threads/process';

const stopping = AbortSignal.abort();
const nowhere = '127.0.0.1:1';
const addresses = { THREADS_ADDRESS: nowhere, EXECUTION_ADDRESS: nowhere, MEMORY_ADDRESS: nowhere };
const execution = { ...addresses, NATS_URL: `nats://${nowhere}` };

const quota = 'FILES_QUOTA_MB is less than FILES_MAX_MB: no file of that size could be stored';
const openPort = 'SERVICE_TOKEN or the TLS files must be set, because GRPC_HOST 0.0.0.0 lets others in';
const key =
  'EMBEDDINGS_API_KEY must be set, because EMBEDDINGS_PROVIDER is openai and EMBEDDINGS_BASE_URL is https://api.openai.com/v1';
const level = 'LOG_LEVEL must be one of';

const starts: readonly (readonly [
  process: string,
  open: (env: Env) => Promise<unknown>,
  env: Env,
  faults: readonly string[],
])[] = [
  [
    'the single process',
    (env) => openStandalone(env),
    { FILES_QUOTA_MB: '1', EMBEDDINGS_PROVIDER: 'openai', CORS_ORIGINS: '*', CORS_CREDENTIALS: 'true' },
    [quota, 'CORS_CREDENTIALS must be false while CORS_ORIGINS is *', key],
  ],
  [
    'a gateway',
    openGatewayProcess,
    { ...addresses, FILES_FOLDER: '/nowhere', FILES_QUOTA_MB: '1', TLS_KEY_FILE: '/nowhere' },
    [
      'TLS_CERT_FILE, TLS_KEY_FILE and TLS_CA_FILE must be set together',
      quota,
      'FILES_SECRET must be set where FILES_S3_BUCKET or FILES_FOLDER is',
    ],
  ],
  [
    'a threads service',
    (env) => openThreadsProcess(env, stopping),
    { POOL_CREDENTIALS: '/nowhere', THREAD_STORE: 'postgres', POSTGRES_TLS_CERT_FILE: '/nowhere' },
    [
      openPort,
      'GRANT_SECRET must be set where POOL_CREDENTIALS is',
      'POSTGRES_TLS_CERT_FILE and POSTGRES_TLS_KEY_FILE must be set together',
      'POSTGRES_TLS_CERT_FILE needs POSTGRES_TLS_CA_FILE',
    ],
  ],
  [
    'a memory service',
    (env) => openMemoryProcess(env, stopping),
    { EMBEDDINGS_PROVIDER: 'openai', WEAVIATE_URL: 'weaviate', POOL_CREDENTIALS: '/nowhere' },
    [
      key,
      'WEAVIATE_URL must be an http or https address without a path, user or query',
      openPort,
      'GRANT_SECRET must be set where POOL_CREDENTIALS is',
    ],
  ],
  [
    'an execution service',
    (env) => openExecutionProcess(env, stopping),
    { ...execution, POOL: 'team', NATS_ACCESS: 'pool', EVENTS_MAX_AGE: '3600', EVENTS_RETENTION: '7200' },
    [
      openPort,
      'POOL is for ROLE=worker alone',
      'NATS_ACCESS=pool is for ROLE=worker, not for ROLE=all',
      'EVENTS_MAX_AGE must be at least EVENTS_RETENTION (7200), not 3600',
    ],
  ],
  [
    'an execution service with files and no way to them',
    (env) => openExecutionProcess(env, stopping),
    { ...execution, SERVICE_TOKEN: 'known', FILES_URL: 'http://gateway:8000' },
    ['FILES_SECRET or POOL must be set where FILES_URL is'],
  ],
];

for (const [process, open, env, faults] of starts) {
  test(`the start of ${process} names at once what cannot be read and what does not fit together`, async (t) => {
    const error = await t.throwsAsync(open({ ...env, LOG_LEVEL: 'loud' }), { instanceOf: ConfigError });
    const [first = '', ...rest] = error.message.split('\n');
    t.true(first.startsWith(level), first);
    t.deepEqual(rest, faults);
  });
}
