import { bytesOfTexts, sizes } from '@agent-workflow/kit/sizes';
import type { Snapshot } from '../ports/changes.ts';
import type { Head, RunRecord } from '../ports/record.ts';
import { fromJson, toJson } from '../record/json.ts';
import { ResumedToRead, type Resumed } from './resumed.ts';

/** What the record reads of a run's options. */
interface Options {
  readonly tools?: readonly Tool[];
}

interface Tool {
  readonly node: string;
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
  /** Its owner had set it up; absent: the request declared it. */
  readonly isSetUp?: boolean;
}

/**
 * The run with the tools of the interrupted one that it goes on from, unless its own request declares some. Tools that were set up in the
 * meantime take the place of set-up ones of the same name.
 * @throws ResumedToRead where the interrupted run is one of another thread, which this one was forked from.
 */
export function withKeptTools(
  run: RunRecord,
  { interruptedRun }: Head,
  { runs, resumed }: Pick<Snapshot, 'runs'> & { readonly resumed: Resumed | undefined },
): RunRecord {
  if (interruptedRun === undefined) return run;
  const options = fromJson(run.options) as Options;
  const own = options.tools ?? [];
  if (own.some(isDeclared)) return run;
  const asked = runs.get(interruptedRun) ?? resumed;
  if (asked?.runId !== interruptedRun) throw new ResumedToRead(interruptedRun);
  const kept = (asked.options ? (fromJson(asked.options) as Options).tools : undefined) ?? [];
  if (kept.length === 0) return run;
  const declared = kept.filter(isDeclared);
  const setUp = [...own, ...kept.filter((tool) => !isDeclared(tool))];
  return { ...run, options: toJson({ ...options, tools: withFitting(declared, setUp) }) };
}

const isDeclared = ({ isSetUp }: Tool): boolean => isSetUp !== true;

/** The tools, and of the others those whose names are free, as many as the tools of one run may be. */
function withFitting(tools: readonly Tool[], others: readonly Tool[]): Tool[] {
  const fitting = [...tools];
  const names = new Set(tools.map(({ name }) => name));
  let bytes = tools.reduce((sum, tool) => sum + bytesOf(tool), 0);
  for (const tool of others) {
    const size = bytesOf(tool);
    if (names.has(tool.name) || fitting.length === maxTools || bytes + size > sizes.toolsTogether) continue;
    names.add(tool.name);
    fitting.push(tool);
    bytes += size;
  }
  return fitting;
}

/** Those of a request and those that were set up. */
const maxTools = 2 * sizes.tools;

const bytesOf = ({ name, node, description, parameters }: Tool): number =>
  bytesOfTexts([name, node, description]) + toJson(parameters).byteLength;
