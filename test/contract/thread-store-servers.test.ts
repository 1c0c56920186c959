import test from 'ava';
import { testedStores } from './thread-stores/list.ts';
import { threadSizesContract } from './thread-sizes.ts';
import { threadStoreContract } from './thread-store.ts';
import { threadStoreAgentsContract } from './thread-store-agents.ts';
import { threadStoreFilesContract } from './thread-store-files.ts';
import { threadStoreResourcesContract } from './thread-store-resources.ts';

for (const { isEmbedded, withStore } of testedStores) {
  if (!isEmbedded) {
    withStore(test, (store) => {
      threadStoreContract(test, store);
      threadSizesContract(test, store);
      threadStoreFilesContract(test, store);
      threadStoreAgentsContract(test, store);
      threadStoreResourcesContract(test, store);
    });
  }
}
