import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const idle = new Set(['(idle)', '(root)', '(program)']);
const shown = 30;

/**
 * Where the processor time of a folder's profiles went, by package and by function: the functions of files with most time, the built-ins that they
 * call included. What no file called, such as the parser of HTTP, stands under its own name.
 */
export function summarise(folder: string, isOf: (file: string) => boolean = () => true): string {
  const times = new Map<string, number>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.cpuprofile') && isOf(name))) {
    const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
    const places = chargedPlaces(profile);
    for (const [index, id] of profile.samples.entries()) {
      const place = places.get(id) ?? '';
      if (!idle.has(place)) times.set(place, (times.get(place) ?? 0) + (profile.timeDeltas[index] ?? 0));
    }
  }
  return `${toShares(byPackage(times))}\n\n${toShares(times)}`;
}

function toShares(times: ReadonlyMap<string, number>): string {
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  return [...times]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, shown)
    .map(([place, time]) => `${((100 * time) / total).toFixed(1).padStart(5)} %  ${place}`)
    .join('\n');
}

/** The package of a place: a workspace, a library, `node:` for Node's own, or what no file called. */
function byPackage(times: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [place, time] of times) {
    const [name = '', path] = place.split('  ');
    const library = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path ?? '')?.[1];
    const workspace = /^(?:services\/[^/]+|gateway|protos|test)/.exec(path ?? '')?.[0];
    const part = library ?? workspace ?? (path === undefined ? name : 'node');
    sums.set(part, (sums.get(part) ?? 0) + time);
  }
  return sums;
}

/** For each node the place that its time is charged to: itself, or for a built-in the nearest caller that is in a file. */
function chargedPlaces({ nodes }: CpuProfile): ReadonlyMap<number, string> {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const charge = (id: number): string => {
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = frames.get(at);
      if (frame?.url.startsWith('file:')) return placeOf(frame);
    }
    const own = frames.get(id);
    return own ? placeOf(own) : '';
  };
  return new Map(nodes.map(({ id }) => [id, charge(id)]));
}

function placeOf({ functionName, url, lineNumber }: CallFrame): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  const path = url.replace(/^file:\/\/.*\/(?=(?:services|gateway|protos|test|node_modules)\/)/, '');
  return url === '' ? name : `${name}  ${path}:${String(lineNumber + 1)}`;
}
