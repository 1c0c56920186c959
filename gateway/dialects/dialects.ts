import type { Dialect, Dialects } from '../http/dialect.ts';
import type { ServiceEndpoint } from './common/services.ts';
import { a2a } from './a2a/dialect.ts';
import { agui } from './agui/dialect.ts';
import { langgraph } from './langgraph/dialect.ts';
import { mcp } from './mcp/dialect.ts';
import { openai } from './openai/dialect.ts';
import type { DialectConfig, DialectName } from './settings.ts';
import { v1 } from './v1/dialect.ts';

/** The dialects that `DIALECTS` chooses among. A new one is a folder beside this file, and its name here and in that setting. */
const optional: Readonly<Record<DialectName, Dialect<ServiceEndpoint>>> = { a2a, agui, langgraph, mcp, openai };

/** Every dialect in which callers may speak. */
export const dialects: Dialects<ServiceEndpoint> = [v1, ...Object.values(optional)];

/** The dialects of a gateway: its own, and those that its settings name. */
export const dialectsOf = ({ DIALECTS: names }: DialectConfig): Dialects<ServiceEndpoint> => [
  v1,
  ...names.map((name) => optional[name]),
];
