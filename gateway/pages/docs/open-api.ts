/** As much of a JSON Schema as the reference shows. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
}

type Content = Readonly<Record<string, Media>>;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  /** Of a parameter that is JSON. */
  readonly content?: Content;
  readonly example?: unknown;
}

export interface Reply {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Content;
}

/** One method of one path. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly description?: string; readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Reply>>;
  /** Empty: it needs no credentials. Absent: what the document says. */
  readonly security?: readonly unknown[];
  /** What the authorization backend is asked, as `resource:action`. */
  readonly 'x-access'?: string;
}

/** As much of the OpenAPI document of a dialect as the reference shows. */
export interface OpenApi {
  readonly info: { readonly title: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Reply>>;
  };
  readonly security: readonly unknown[];
  readonly 'x-error-codes': Readonly<Record<string, string>>;
  readonly 'x-events': Readonly<
    Record<string, { readonly description: string; readonly data: string; readonly example: unknown }>
  >;
}

/** An operation at its route, with its other routes. */
export interface Routed {
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** Further routes to the same, as `GET /ping`. */
  readonly aliases: readonly string[];
}

/** The operations of a tag in the order of the document. A further route to an operation stands with it and not by itself. */
export function operationsOf({ paths }: OpenApi, tag: string): readonly Routed[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const ids = new Set(all.map(({ operation }) => operation.operationId));
  const mainId = ({ operationId }: Operation): string => {
    const main = operationId.replace(/Alias\d*$/, '');
    return ids.has(main) ? main : operationId;
  };
  return all
    .filter(({ operation }) => operation.tags.includes(tag) && mainId(operation) === operation.operationId)
    .map((routed) => ({
      ...routed,
      aliases: all
        .filter(
          (other) => other.operation !== routed.operation && mainId(other.operation) === routed.operation.operationId,
        )
        .map(({ method, path }) => `${method} ${path}`),
    }));
}

/** The last part of a reference: `#/components/schemas/Thread` is `Thread`. */
export const nameIn = (reference: string): string => reference.split('/').at(-1) ?? '';
