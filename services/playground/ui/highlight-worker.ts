import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import graphql from 'highlight.js/lib/languages/graphql';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';
import { codeParts } from './code-parts.ts';
import type { HighlightReply, HighlightRequest } from './highlighter.ts';

/** The languages that agents write most. Each also has its other names, as `ts` and `py`. */
const lowlight = createLowlight({
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, graphql, ini, java, javascript, json, kotlin, markdown },
  ...{ php, python, ruby, rust, shell, sql, swift, typescript, xml, yaml },
});

/** What a worker calls itself; the types of a page do not have it. */
const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<HighlightRequest>) => void) | null;
  readonly postMessage: (reply: HighlightReply) => void;
};

scope.onmessage = ({ data: { id, language, code } }) => {
  const name = language.toLowerCase();
  const parts = lowlight.registered(name) ? codeParts(lowlight.highlight(name, code)) : undefined;
  scope.postMessage({ id, ...(parts && { parts }) });
};
