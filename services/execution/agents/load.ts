import { inFile, loadExport, misnamed } from '@agent-workflow/runtime/load';
import { codeOrigins } from '../watchdog/code.ts';
import { isCompiledGraph, type CompiledGraph } from '@agent-workflow/graph/build/graph';

/**
 * Loads the graph that `service.json` names as `<module>:<object>`: a file relative to `folder`, TypeScript or JavaScript,
 * or a package that is installed there.
 * @throws ConfigError: one line that says what is wrong and where.
 */
export async function loadAgent(location: string, folder: string): Promise<CompiledGraph> {
  const named = { what: 'agent', location, folder };
  const graph = await codeOrigins.run({}, async () => loadExport(named));
  if (isCompiledGraph(graph)) return graph;
  const name = location.slice(location.lastIndexOf(':') + 1);
  throw misnamed(named, `"${name}" is not a compiled graph (is .compile() missing?)${inFile(named, name)}`);
}
