import test from 'ava';
import { missingMigrations, newestVersion } from './data-version.ts';
import { ConfigError } from '@agent-workflow/kit/env';

const migrations = ['the schema', 'a column'];

test('an empty store lacks every migration, the first of which is number 100', (t) => {
  t.deepEqual(missingMigrations(migrations, 0, 'a.sqlite'), [
    { version: 100, migration: 'the schema' },
    { version: 101, migration: 'a column' },
  ]);
});

test('a store lacks the migrations above its version', (t) => {
  t.deepEqual(missingMigrations(migrations, 100, 'a.sqlite'), [{ version: 101, migration: 'a column' }]);
  t.deepEqual(missingMigrations(migrations, newestVersion(migrations), 'a.sqlite'), []);
});

test('a store of before version 100 is refused in one line that names it and the commit that reads it', (t) => {
  for (const version of [1, 99]) {
    const error = t.throws(() => missingMigrations(migrations, version, 'a.sqlite'), { instanceOf: ConfigError });
    t.regex(
      error.message,
      new RegExp(
        `^a\\.sqlite: the data has schema ${String(version)}, and the last commit that reads it is [0-9a-f]{8}$`,
      ),
    );
  }
});

test('a store of a newer version is refused', (t) => {
  t.throws(() => missingMigrations(migrations, 102, 'a.sqlite'), {
    instanceOf: ConfigError,
    message: 'a.sqlite: the data was written by a newer version (schema 102, known 101)',
  });
});
