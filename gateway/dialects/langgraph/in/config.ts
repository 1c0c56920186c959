import { invalidAt, type Loc } from '../../../http/fields.ts';
import { readOnlyByService } from '../../common/run-config.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What clients send back of an earlier state: the path and the body say which thread, checkpoint and assistant a run is of. */
const readElsewhere: ReadonlySet<string> = new Set([
  'thread_id',
  'checkpoint_id',
  'checkpoint_ns',
  'checkpoint_map',
  'assistant_id',
  'graph_id',
  'run_id',
]);

/**
 * The config of a run or of an assistant as the service has it: what is `configurable` stands at its top, where nodes find it, beside
 * `tags` and `recursion_limit`.
 * @throws Invalid for a name by which the service itself reads something
 */
export function fromConfig({ configurable, tags, recursion_limit: limit }: JsonObject, loc: Loc): JsonObject {
  if (limit !== undefined && limit !== null && !isLimit(limit))
    throw invalidAt([...loc, 'recursion_limit'], 'must be an integer from 1 to 1000', 'integer_type');
  if (configurable !== undefined && configurable !== null && !isObject(configurable))
    throw invalidAt([...loc, 'configurable'], 'must be an object', 'object_type');
  const own = Object.entries(configurable ?? {}).filter(([name]) => !readElsewhere.has(name));
  const taken = own.find(([name]) => readOnlyByService(name) || name === 'tags' || name === 'recursion_limit');
  if (taken)
    throw invalidAt([...loc, 'configurable', taken[0]], 'is a name by which the service reads the config of a run');
  return {
    ...Object.fromEntries(own),
    ...(tags !== undefined && tags !== null && { tags }),
    ...(isLimit(limit) && { recursion_limit: limit }),
  };
}

const isLimit = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 1000;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
