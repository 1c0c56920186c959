import { readdir, readFile } from 'node:fs/promises';
import { toPage, type Page } from './page.ts';
import { documentOf, render, stylePath, type Topic } from './guide-html.ts';

const folder = new URL('../guide/', import.meta.url);
const index = 'README.md';

/** Reads the guide and renders it: the page of each path. */
export async function readGuide(): Promise<ReadonlyMap<string, Page>> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.md'));
  const pathOf = (file: string): string | undefined => (files.includes(file) ? guidePathOf(file) : undefined);
  const read = async (file: string) => {
    const markdown = await readFile(new URL(file, folder), 'utf8');
    return { file, path: guidePathOf(file), markdown, rendered: render(markdown, pathOf) };
  };
  const pages = await Promise.all(files.map(read));
  const order = pages.find(({ file }) => file === index)?.markdown ?? '';
  const placeOf = ({ file }: { readonly file: string }): number => (file === index ? -1 : order.indexOf(`(${file})`));
  const topics: readonly Topic[] = [
    ...pages.toSorted((a, b) => placeOf(a) - placeOf(b)).map(({ path, rendered: { title } }) => ({ path, title })),
    { path: '/docs/api', title: 'API reference' },
  ];
  const style = await readFile(new URL('guide.css', import.meta.url), 'utf8');
  return new Map([
    ...pages.map(({ path, rendered }) => [path, toPage('html', documentOf(rendered, path, topics))] as const),
    [stylePath, toPage('css', style)],
  ]);
}

const guidePathOf = (file: string): string => (file === index ? '/docs' : `/docs/${file.replace(/\.md$/, '')}`);
