import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { chartSchemas } from './chart-schemas.ts';
import { root } from './settings.ts';
import { settingsPage } from './settings-page.ts';

/** A file that is written from the code. */
export interface GeneratedFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** Every file below `deploy/` that is written from the code. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  const schemas = Object.entries(await chartSchemas()).map(async ([chart, schema]): Promise<GeneratedFile> => {
    const path = `deploy/charts/${chart}/values.schema.json`;
    const style = await resolveConfig(join(root, path));
    return { path, text: await format(JSON.stringify(schema, null, 2), { ...style, parser: 'json' }) };
  });
  return [{ path: 'deploy/settings.md', text: await settingsPage() }, ...(await Promise.all(schemas))];
}
