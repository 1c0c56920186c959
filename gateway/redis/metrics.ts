import { counter, gauge, type Registry } from '@agent-workflow/runtime/metrics';
import type { Redis } from './redis.ts';

export const redisMetrics = {
  up: gauge('agent_workflow_redis_up', 'Whether Redis answered the last command; there is none before the first'),
  failures: counter('agent_workflow_redis_failures_total', 'Commands that Redis did not answer in time, or at all'),
};

/** The same connection; whether it answers is told. */
export function watchRedis(redis: Redis, registry: Registry): Redis {
  const { up, failures } = registry.make(redisMetrics);
  let isUp: number | undefined;
  up.ask(() => isUp);
  const watch = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      const given = await answer;
      isUp = 1;
      return given;
    } catch (error) {
      isUp = 0;
      failures.add({});
      throw error;
    }
  };
  return {
    ...redis,
    send: (...command) => watch(redis.send(...command)),
    run: (script, key, ...values) => watch(redis.run(script, key, ...values)),
  };
}
