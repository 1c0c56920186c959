import { ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { invalidAt, type Loc } from '../../../../http/fields.ts';
import type { RunInput } from '../../schemas/graph.ts';

type Declaring = Pick<RunInput, 'tools' | 'config'>;
type Tool = NonNullable<RunInput['tools']>[number];

interface DeclaredTool {
  readonly tool: Tool;
  /** Where it stands in the request. */
  readonly place: Loc;
}

const inConfig: Loc = ['body', 'config', 'remote_tools'];

/** The tools that a request declares: its own, and those of its config whose names are free. */
export function declaredTools({ tools = [], config }: Declaring): readonly DeclaredTool[] {
  const own = tools.map((tool, index): DeclaredTool => ({ tool, place: ['body', 'tools', index] }));
  const given = (config?.remote_tools ?? []).map((tool, index): DeclaredTool =>
    'function' in tool
      ? { tool: tool.function, place: [...inConfig, index, 'function'] }
      : { tool, place: [...inConfig, index] },
  );
  const declared = [...own, ...given.filter(({ tool }) => !tools.some(({ name }) => name === tool.name))];
  if (declared.length <= sizes.tools) return declared;
  const msg = `must NOT have more than ${String(sizes.tools)} items, with those of tools`;
  throw invalidAt(inConfig, msg, 'too_long');
}

/** The error of a start, whose services know one list of tools, with the place that a tool of the config has in the request. */
export function atPlaceOfTool(error: unknown, input: Declaring): unknown {
  if (!(error instanceof ServiceError)) return error;
  const [detail] = error.details;
  const [list, index, name] = detail?.field ?? [];
  if (detail === undefined || list !== 'tools' || typeof index !== 'number' || index < (input.tools?.length ?? 0))
    return error;
  const place = declaredTools(input)[index]?.place;
  if (place === undefined || name === undefined) return error;
  return invalidAt([...place, name === 'nodeName' ? 'node_name' : name], detail.msg, detail.type);
}
