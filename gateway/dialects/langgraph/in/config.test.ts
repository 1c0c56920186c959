import { isServiceError } from '@agent-workflow/kit/errors';
import test from 'ava';
import { toAssistant } from '../out/assistant.ts';
import { fromConfig } from './config.ts';

/** A config of an assistant as clients read it. */
const shown = (config: Readonly<Record<string, unknown>>): unknown =>
  toAssistant(
    {
      ...{ id: 'a', version: 1, newestVersion: 1, createdAt: 0, updatedAt: 0, metadata: {}, context: {} },
      config: fromConfig(config, []),
    },
    'agent',
  )['config'];

test('a config is the same there and back', (t) => {
  const config = { tags: ['a'], recursion_limit: 7, configurable: { tone: 'dry', deep: { x: [1] } } };
  t.deepEqual(shown(config), config);
  t.deepEqual(shown({}), {});
});

test('what the path and the body say is not taken from a config', (t) => {
  const given = { thread_id: 'theirs', checkpoint_ns: '', graph_id: 'x', run_id: 'y', tone: 'dry' };
  t.deepEqual(fromConfig({ configurable: given }, []), { tone: 'dry' });
});

test('a name by which the service reads something is refused by name', (t) => {
  for (const name of ['multitask_strategy', 'remote_tools', 'agent', 'ttl', 'tags', 'recursion_limit']) {
    const error = t.throws(() => fromConfig({ configurable: { [name]: 1 } }, ['body', 'config']));
    t.true(isServiceError(error, 'Invalid'));
    t.true(error.message.includes(`configurable.${name}`), error.message);
  }
  t.throws(() => fromConfig({ recursion_limit: 0 }, ['body', 'config']), { message: /recursion_limit/ });
  t.throws(() => fromConfig({ configurable: [] }, ['body', 'config']), { message: /configurable/ });
});
