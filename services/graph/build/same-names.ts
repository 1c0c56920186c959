import { idFrom } from '@agent-workflow/kit/ids';
import { withHash } from './model-names.ts';

/** A hash of the server that a tool is of, where it is of one: the same at every start. */
const serverOf = Symbol('the server of a tool');

interface Named {
  readonly name: string;
  readonly [serverOf]?: string;
}

/** The tool as one of a server. */
export const ofServer = <T extends Named>(tool: T, server: string): T => ({
  ...tool,
  [serverOf]: idFrom(server, 'server'),
});

/**
 * The tools with a name of its own for each that a server gave. Of two servers that have tools of one name the first listed keeps it, unless a tool of the
 * author has it; the name of the other gets a hash of its server. What the author names twice stays so, and is refused.
 */
export function withNamesOfServers<T extends Named>(tools: readonly T[]): readonly T[] {
  const ofAuthor = tools.filter((tool) => tool[serverOf] === undefined).map(({ name }) => [name, undefined] as const);
  const taken = new Map<string, string | undefined>(ofAuthor);
  return tools.map((tool) => {
    const { name, [serverOf]: server } = tool;
    const isFree = server === undefined || !taken.has(name) || taken.get(name) === server;
    const own = isFree ? name : withHash(name, server);
    taken.set(own, server);
    return isFree ? tool : { ...tool, name: own };
  });
}
