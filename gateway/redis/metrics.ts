import { counter, gauge, type Registry } from '@agent-workflow/runtime/metrics';
import type { Redis } from './redis.ts';

export const redisMetrics = {
  up: gauge('agent_workflow_redis_up', 'Whether Redis answered the last command; there is none before the first'),
  failures: counter('agent_workflow_redis_failures_total', 'Commands that Redis did not answer in time, or at all'),
};

/** The same connection, measured. */
export function measureRedis(redis: Redis, registry: Registry): Redis {
  const { up, failures } = registry.make(redisMetrics);
  let isUp: number | undefined;
  up.collect(() => isUp);
  const measure = async <T>(reply: Promise<T>): Promise<T> => {
    try {
      const value = await reply;
      isUp = 1;
      return value;
    } catch (error) {
      isUp = 0;
      failures.add({});
      throw error;
    }
  };
  return {
    ...redis,
    send: (...command) => measure(redis.send(...command)),
    run: (script, key, ...values) => measure(redis.run(script, key, ...values)),
  };
}
