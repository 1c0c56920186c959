import { join } from 'node:path';
import { operationsPage } from '@agent-workflow/gateway/dialects/langgraph/operations/page';
import { format, resolveConfig } from 'prettier';
import { chartSchemas } from './chart-schemas.ts';
import { root } from './settings.ts';
import { settingReaders } from './setting-readers.ts';
import { settingsPage } from './settings-page.ts';

/** A file that is written from the code. */
interface GeneratedFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** Every file that is written from the code. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  const schemas = Object.entries(await chartSchemas()).map(async ([chart, schema]): Promise<GeneratedFile> => {
    const path = `deploy/charts/${chart}/values.schema.json`;
    return { path, text: await formatted(path, JSON.stringify(schema, null, 2)) };
  });
  const readers = 'services/runtime/setting-readers.ts';
  return [
    { path: 'deploy/settings.md', text: await settingsPage() },
    { path: 'gateway/guide/langgraph-operations.md', text: operationsPage() },
    { path: readers, text: await formatted(readers, await settingReaders()) },
    ...(await Promise.all(schemas)),
  ];
}

/** In the style that `npm run format` asks for. */
const formatted = async (path: string, text: string): Promise<string> =>
  format(text, { ...(await resolveConfig(join(root, path))), filepath: path });
