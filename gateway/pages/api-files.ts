import { readFile } from 'node:fs/promises';
import { policyOfScripts, toPage, withGzip, type Page } from './page.ts';

const ours = new URL('./assets/', import.meta.url);

/** What of Swagger UI is served, as its package has it. */
const swaggerUi = new URL('./swagger-ui/', ours);

/** The page of the reference at `path`, and what it loads, each below `assets`. */
export async function readApiFiles(path: string, assets: string): Promise<ReadonlyMap<string, Page>> {
  const file = async (folder: URL, name: string, type: 'css' | 'js'): Promise<[string, Page]> => [
    `${assets}${name}`,
    await withGzip(toPage(type, await readFile(new URL(name, folder)))),
  ];
  return new Map([
    [path, toPage('html', documentOf(assets), policyOfScripts)],
    ...(await Promise.all([
      file(swaggerUi, 'swagger-ui.css', 'css'),
      file(swaggerUi, 'swagger-ui-bundle.js', 'js'),
      file(ours, 'api.css', 'css'),
      file(ours, 'api.js', 'js'),
    ])),
  ]);
}

const documentOf = (assets: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference · Agent Workflow Service</title>
<link rel="icon" href="/favicon.ico" type="image/svg+xml">
<link rel="stylesheet" href="${assets}swagger-ui.css">
<link rel="stylesheet" href="${assets}api.css">
<script src="${assets}swagger-ui-bundle.js" defer></script>
<script src="${assets}api.js" defer></script>
</head>
<body>
<a class="skip" href="#reference">Skip to the reference</a>
<header><a href="/docs">Guide</a> <a href="/openapi.json">openapi.json</a></header>
<div id="reference" tabindex="-1">
<noscript><p>The reference needs JavaScript. <a href="/openapi.json">openapi.json</a> holds the same.</p></noscript>
</div>
</body>
</html>
`;
