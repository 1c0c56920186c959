import type { Weaviate } from './client.ts';

/** Which tenants are in use, so that the others can be put to rest. */
export interface Tenants {
  /** Does `work` on a tenant, which does not go to rest meanwhile. */
  readonly use: <T>(tenant: string, work: () => Promise<T>) => Promise<T>;
  /** Puts to rest what nobody in this process used for a while; another process that uses one wakes it again. */
  readonly restIdle: () => Promise<void>;
}

interface TenantsOptions {
  readonly weaviate: Weaviate;
  readonly collection: string;
  readonly idleMs: number;
  readonly now?: () => number;
}

/** How many one request puts to rest. */
const restAtOnce = 50;

export function createTenants({ weaviate, collection, idleMs, now = Date.now }: TenantsOptions): Tenants {
  const lastUse = new Map<string, number>();
  const underWay = new Map<string, number>();
  let isFirstTime = true;

  /** Those that a process before this one left awake count as used now. */
  const findAwake = async (): Promise<void> => {
    for (const { name, isHot } of await weaviate.listTenants(collection)) {
      if (isHot && !lastUse.has(name)) lastUse.set(name, now());
    }
    isFirstTime = false;
  };

  return {
    use: async (tenant, work) => {
      underWay.set(tenant, (underWay.get(tenant) ?? 0) + 1);
      try {
        return await work();
      } finally {
        const left = (underWay.get(tenant) ?? 1) - 1;
        if (left > 0) underWay.set(tenant, left);
        else underWay.delete(tenant);
        lastUse.set(tenant, now());
      }
    },

    restIdle: async () => {
      if (isFirstTime) await findAwake();
      const idle = [...lastUse].filter(([tenant, at]) => now() - at >= idleMs && !underWay.has(tenant));
      for (let from = 0; from < idle.length; from += restAtOnce) {
        const chunk = idle.slice(from, from + restAtOnce).map(([tenant]) => tenant);
        // Who only ever looked has no tenant.
        const known = await Promise.all(chunk.map(async (tenant) => weaviate.hasTenant(collection, tenant)));
        await weaviate.rest(
          collection,
          chunk.filter((tenant, place) => known[place] && !underWay.has(tenant)),
        );
        for (const tenant of chunk) if (!underWay.has(tenant)) lastUse.delete(tenant);
      }
    },
  };
}
