import test from 'ava';
import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { openFileStore } from './open.ts';
import { fileSettings } from './settings.ts';

test('a quota below the largest file stops the start, and both settings say so', async (t) => {
  const config = readEnv(fileSettings, { FILES_MAX_MB: '100', FILES_QUOTA_MB: '99' });
  const error = await t.throwsAsync(openFileStore({ config, log: createLog('test', 'silent') }), {
    instanceOf: ConfigError,
  });
  t.is(error.message, 'FILES_QUOTA_MB is less than FILES_MAX_MB: no file of that size could be stored');
  t.regex(fileSettings.FILES_MAX_MB.doc, /the start fails when it is more than `FILES_QUOTA_MB`/);
  t.regex(fileSettings.FILES_QUOTA_MB.doc, /the start fails when it is less than `FILES_MAX_MB`/);
});
