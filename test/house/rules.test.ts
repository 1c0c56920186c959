import test from 'ava';
import { files, read, specifiersOf, targetOf, tests } from './tree.ts';

/**
 * A rule of the house. A file that `files` matches (and `except` does not) may hold neither an import that `imports`
 * matches nor a text that `text` matches. Imports of ours are seen as paths from the root, as `/services/kit/errors`;
 * those of others as written. `example` breaks the rule.
 */
interface Rule {
  readonly title: string;
  readonly files: RegExp;
  readonly except?: RegExp;
  readonly imports?: RegExp;
  readonly text?: RegExp;
  readonly example: readonly [file: string, text: string];
}

const anyCode = /\.(ts|js)$/;

/** Where HTTP itself is used: towards stores, models and other agents, on the port that serves metrics, and in the client. */
const outsideOfHttp =
  /\/(adapters|embedders|agents)\/|^services\/(?:client\/|playground\/|graph\/(?:a2a|model)\/|runtime\/metrics-port\.ts$|execution\/webhooks\/post\.ts$)|\.test\.ts$/;

const rules: readonly Rule[] = [
  {
    title: 'kit imports nothing of ours',
    files: /^services\/kit\//,
    except: tests,
    imports: /^\/(?!services\/kit\/)/,
    example: ['services/kit/ids.ts', `import type { Call } from '@agent-workflow/protos/call';`],
  },
  {
    title: 'what processes are made of imports nothing of ours but kit',
    files: /^services\/runtime\//,
    except: tests,
    imports: /^\/(?!services\/(runtime|kit)\/)/,
    example: ['services/runtime/process.ts', `import type { Call } from '@agent-workflow/protos/call';`],
  },
  {
    title:
      'protos imports nothing of ours but errors, sizes, hosts with ports, names of agents, short-lived maps and the request context of kit; what generates it reads its command line',
    files: /^protos\/(?!generate\.ts$)/,
    except: tests,
    imports: /^\/(?!protos\/|services\/kit\/(agents|errors|host-port|sizes|short-lived|request-context)$)/,
    example: ['protos/wire/serve.ts', `import { createLog } from '@agent-workflow/kit/log';`],
  },
  {
    title: 'what links services in process does not load gRPC',
    files: /^protos\/(?!wire\/)|^protos\/wire\/link\.ts$/,
    except: tests,
    imports: /^@grpc\/|^\/protos\/wire\/(serve|connect|status|definitions)$/,
    example: ['protos/wire/link.ts', `import { toStatus } from './status.ts';`],
  },
  {
    title: 'a service never imports another service, nor the gateway',
    files: /^services\/threads\//,
    imports: /^\/(gateway|services\/(?!threads\/|kit\/|runtime\/))/,
    example: ['services/threads/threads.ts', `import { createMemories } from '@agent-workflow/memory/memories';`],
  },
  {
    title: 'a service never imports another service, nor the gateway',
    files: /^services\/execution\//,
    imports: /^\/(gateway|services\/(?!execution\/|graph(\/|$)|kit\/|runtime\/))/,
    example: [
      'services/execution/worker/worker.ts',
      `import { createThreads } from '@agent-workflow/threads/threads';`,
    ],
  },
  {
    title: 'a service never imports another service, nor the gateway',
    files: /^services\/memory\//,
    imports: /^\/(gateway|services\/(?!memory\/|kit\/|runtime\/))/,
    example: ['services/memory/memories.ts', `import { createThreads } from '@agent-workflow/threads/threads';`],
  },
  {
    title: 'the gateway never imports a service',
    files: /^gateway\//,
    imports: /^\/services\/(?!kit\/|runtime\/)/,
    example: ['gateway/app.ts', `import { createThreads } from '@agent-workflow/threads/threads';`],
  },
  {
    title: 'nobody imports test or standalone, except the command that starts it',
    files: /^(protos|gateway|services\/(?!(?:standalone|command)\/))/,
    imports: /^\/(test|services\/standalone)\//,
    example: ['gateway/app.test.ts', `import { start } from '@agent-workflow/standalone/start';`],
  },
  {
    title:
      'what writes files from the code, below deploy, imports no more of it than the type of a setting, what reads a command line, and the page of operations',
    // The agent of a team, in `team/`, is an example and writes no files.
    files: /^deploy\/(?!team\/)/,
    except: tests,
    imports: /^\/(?!deploy\/|services\/kit\/(?:command-line|env)$|gateway\/dialects\/langgraph\/operations\/page$)/,
    example: ['deploy/generator/files.ts', `import { gatewaySettings } from '@agent-workflow/gateway/config';`],
  },
  {
    // The entry of a clone looks at the version of Node before main.ts can be loaded.
    title: 'nobody imports a main.ts',
    files: anyCode,
    except: /\.test\.ts$|^test\/|^services\/command\/entry\.js$/,
    imports: /\/main$/,
    example: ['services/standalone/compose.ts', `import { run } from './main.ts';`],
  },
  {
    title: 'ports are made of types of protos and of one another, and of nothing else',
    files: /\/port\.ts$|\/ports\//,
    imports: /^(?!\/protos\/|\/services\/\w+\/ports\/)/,
    example: [
      'services/execution/ports/log.ts',
      `import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';`,
    ],
  },
  {
    title:
      'a graph is built and run with kit, messages, answerers, usage, traces and JSON Schema alone: it knows no service, queue nor store',
    files: /^services\/graph\//,
    // A recorded model keeps its answers in a file; fake files have hashes.
    except: /\.test\.ts$|^test\/|^services\/graph\/testing\/(recording|fake-files)\.ts$/,
    imports:
      /^\/(?!services\/graph\/|services\/kit\/(each|errors|ids|mark|retry|sizes|sse|warnings)$|protos\/(answerer|json-schema|message|run-trace|usage)$)|^(?!\/|node:(async_hooks|timers)|@modelcontextprotocol\/client)/,
    example: ['services/graph/run/step.ts', `import type { RunLog } from '@agent-workflow/execution/ports/log';`],
  },
  {
    title: 'a graph that runs loads nothing of the test kit, which reads and writes files',
    files: /^services\/graph\//,
    except: /\.test\.ts$|^services\/graph\/testing(\/|\.ts$)/,
    imports: /^\/services\/graph\/testing/,
    example: ['services/graph/index.ts', `export { walk } from './testing/walk.ts';`],
  },
  {
    title: 'the client of MCP is loaded by the tools that need it, and by nothing else that a graph imports',
    files: anyCode,
    except: /^services\/graph\/mcp\/|^services\/playground\/views\/agents\/snippets\.ts$|^test\//,
    imports: /^@modelcontextprotocol\/client|^\/services\/graph\/mcp\//,
    example: ['services/graph/index.ts', `export { mcpTools } from './mcp/mcp-tools.ts';`],
  },
  {
    title: 'what uses memories takes the ports that it needs, and leaves their sum to what opens a store',
    files: /^services\/memory\//,
    except: /^services\/memory\/(stores\.ts$|adapters\/\w+\/(adapter|store|health)\.ts$)|\.test\.ts$/,
    imports: /^\/services\/memory\/ports\/store$/,
    example: ['services/memory/api/parts.ts', `import type { MemoryStore } from '../ports/store.ts';`],
  },
  {
    title:
      'what uses the record takes the ports that it needs, and leaves their sum to what opens a store or serves it whole',
    files: /^services\/threads\//,
    except: /^services\/threads\/((stores|open|threads)\.ts$|adapters\/\w+\/(configure|store)\.ts$)|\.test\.ts$/,
    imports: /^\/services\/threads\/ports\/store$/,
    example: ['services/threads/api/runs.ts', `import type { ThreadStore } from '../ports/store.ts';`],
  },
  {
    title: 'the memory service picks its store and its embedder from their registries',
    files: /^services\/memory\//,
    except: /^services\/memory\/(adapters\/|embedders\/|stores\.ts$|open\.ts$)|\.test\.ts$/,
    imports: /^\/services\/memory\/(adapters\/|embedders\/(?!registry$|embedding$))/,
    example: ['services/memory/process.ts', `import { hashEmbedder } from './embedders/hash.ts';`],
  },
  {
    title: 'an adapter never imports the service it serves',
    files: /\/adapters\//,
    except: tests,
    imports:
      /^\/services\/(threads\/threads|execution\/(api|worker|steps|events|record|watchdog)\/.*|memory\/memories|\w+\/(config|open))$/,
    example: ['services/memory/adapters/sqlite/store.ts', `import { createMemories } from '../../memories.ts';`],
  },
  {
    title: 'an adapter of SQLite never imports another adapter',
    files: /\/adapters\/sqlite([^/]*\.ts|\/.*)$/,
    except: tests,
    imports: /\/adapters\/(?!sqlite)/,
    example: ['services/memory/adapters/sqlite/store.ts', `import { open } from '../weaviate/store.ts';`],
  },
  {
    title: 'what SQLite adapters share is for adapters, and for those processes that hold a data folder',
    files: anyCode,
    except: /\/adapters\/|^services\/(runtime\/sqlite\/|standalone\/)|\.test\.ts$|^test\//,
    imports: /^\/services\/runtime\/sqlite\//,
    example: ['services/threads/threads.ts', `import { openSqlite } from '@agent-workflow/runtime/sqlite/sqlite';`],
  },
  {
    title:
      'drivers of stores stay in adapters, and those of Redis and SQLite where all adapters of them share one client',
    files: anyCode,
    except: /\/adapters\/|^(gateway\/redis\/client\.ts$|services\/runtime\/sqlite\/)|\.test\.ts$|^test\//,
    imports: /^(node:sqlite|cassandra-driver|pg|nats|@nats-io\/.*|weaviate-.*|redis|@redis\/.*)$/,
    example: ['services/threads/threads.ts', `import { DatabaseSync } from 'node:sqlite';`],
  },
  {
    title: 'the driver of S3 stays in the store of files',
    files: anyCode,
    except: /^gateway\/files\/s3\.ts$|^test\//,
    imports: /^@aws-sdk\//,
    example: ['gateway/files/open.ts', `import { S3Client } from '@aws-sdk/client-s3';`],
  },
  {
    title: 'gRPC stays in protos/wire',
    files: anyCode,
    except: /^protos\/wire\/|^test\//,
    imports: /^(@grpc\/|grpc-)/,
    example: ['services/threads/threads.ts', `import { status } from '@grpc/grpc-js';`],
  },
  {
    title: 'the clients of Prometheus and OpenTelemetry stay in runtime, behind instruments and spans',
    files: anyCode,
    except: /^services\/runtime\/(metrics|spans)\.ts$|^test\//,
    imports: /^(prom-client|@opentelemetry\/)/,
    example: ['services/execution/worker/worker.ts', `import { trace } from '@opentelemetry/api';`],
  },
  {
    title: 'Koa stays in the gateway',
    files: anyCode,
    except: /^gateway\/|^test\//,
    imports: /^(@koa\/|koa)/,
    example: ['services/execution/api/execution.ts', `import Koa from 'koa';`],
  },
  {
    title: 'ajv checks requests in the gateway, and fields and the arguments of tools in graphs, and is nowhere else',
    files: anyCode,
    except: /^(gateway|services\/graph|test)\//,
    imports: /^ajv/,
    example: ['services/memory/memories.ts', `import { Ajv2020 } from 'ajv/dist/2020.js';`],
  },
  {
    title: 'services know no place of an HTTP request: a field is named in the words of the domain',
    files: /^services\//,
    except: outsideOfHttp,
    text: /\[\s*'(?:body|header|path)'\s*[,\]]|\[\s*'query'\s*,/,
    example: ['services/threads/record/bounds.ts', `refuseMessages(messages, ['body', 'messages']);`],
  },
  {
    title: 'services know no code that callers read over HTTP',
    files: /^services\//,
    except: outsideOfHttp,
    text: /\b[A-Z]+_(?:ERROR|REQUEST|FOUND|REQUIRED|EXCEEDED|LARGE|UNAVAILABLE|LIMITED|FORBIDDEN)\b/,
    example: ['services/execution/steps/drive.ts', `throw new RunFailure('NODE_ERROR', message);`],
  },
  {
    title: 'services know no status of HTTP',
    files: /^services\//,
    except: outsideOfHttp,
    text: /\b(?:status|statusCode|HTTP)\b[^\n]{0,20}\b[1-5]\d\d\b/,
    example: ['services/memory/memories.ts', `throw { status: 404 };`],
  },
  {
    title: 'the environment is read in kit/env.ts',
    files: anyCode,
    // What callers copy from the playground is no code of ours.
    except:
      /^services\/kit\/env\.ts$|^services\/command\/init\/template\/|^services\/playground\/views\/agents\/snippets\.ts$|^deploy\/health\.js$|\.test\.ts$|^test\//,
    text: /\bprocess\.env\b|\benv\b[^\n]*from 'node:process'/,
    example: ['gateway/config.ts', `const port = process.env.PORT;`],
  },
  {
    title:
      'no process ends itself, except what an agent holds after the drain, and before it has begun; it disposes what it opened',
    files: anyCode,
    except: /\.test\.ts$|^test\/|^services\/(?:kit\/command-line\.ts|standalone\/preflight\.js|runtime\/process\.ts)$/,
    text: /\bprocess\.exit\(/,
    example: ['gateway/app.ts', `process.exit(1);`],
  },
  {
    title: 'exports have names',
    files: /\.ts$/,
    text: /^export default\b|^export \{[^}]*\bas default\b/m,
    example: ['gateway/app.ts', `export default createApp;`],
  },
  {
    title: 'no code holds a TODO',
    files: anyCode,
    except: /^test\/house\/rules\.test\.ts$/,
    text: /\b(TODO|FIXME|XXX)\b/,
    example: ['gateway/app.ts', `// TODO: later`],
  },
];

for (const [index, rule] of rules.entries()) {
  test(`rule ${String(index + 1)}: ${rule.title}`, (t) => {
    t.true(breaks(rule, ...rule.example), 'the example that breaks the rule is not caught');
    t.deepEqual(
      files.filter((file) => breaks(rule, file, read(file))),
      [],
    );
  });
}

function breaks({ files: covered, except, imports, text }: Rule, file: string, source: string): boolean {
  if (!covered.test(file) || except?.test(file)) return false;
  if (text?.test(source)) return true;
  return imports !== undefined && specifiersOf(source).some((specifier) => imports.test(targetOf(file, specifier)));
}
