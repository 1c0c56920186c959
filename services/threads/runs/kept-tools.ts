import { ServiceError } from '@agent-workflow/kit/errors';
import { bytesOfTexts, sizes } from '@agent-workflow/kit/sizes';
import type { Head, RunRecord } from '../ports/record.ts';
import { fromJson, toJson } from '../record/json.ts';

/** A run that waits for answers, as far as the run reads it that goes on from it. */
export interface Resumed {
  readonly runId: string;
  /** Absent when the run is no longer on record. */
  readonly options: Uint8Array | undefined;
}

/** Thrown by a decision: which run the thread goes on from is known only now. It is made again with the options of that run. */
export class ResumedToRead extends ServiceError {
  readonly runId: string;
  constructor(runId: string) {
    super('Unavailable', 'another run asks just now');
    this.runId = runId;
  }
}

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
 * @throws ResumedToRead
 */
export function withKeptTools(run: RunRecord, { interruptedRun }: Head, resumed: Resumed | undefined): RunRecord {
  if (interruptedRun === undefined) return run;
  const options = fromJson(run.options) as Options;
  const own = options.tools ?? [];
  if (own.some(isDeclared)) return run;
  if (resumed?.runId !== interruptedRun) throw new ResumedToRead(interruptedRun);
  const kept = (resumed.options ? (fromJson(resumed.options) as Options).tools : undefined) ?? [];
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
