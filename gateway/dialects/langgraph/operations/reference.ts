/**
 * The operations of LangGraph Server, by what they are about: method and path, and the parameters of query and body. From its OpenAPI
 * document (PyPI `langgraph-api` 0.16.7), MCP, A2A, metrics and pages apart, and with what its clients send beyond that document.
 */
export const reference: Readonly<Record<string, readonly (readonly [operation: string, parameters: string])[]>> = {
  Assistants: [
    ['POST /assistants', 'assistant_id graph_id config context metadata if_exists name description'],
    ['POST /assistants/search', 'metadata graph_id name limit offset sort_by sort_order select'],
    ['POST /assistants/count', 'metadata graph_id name'],
    ['GET /assistants/{assistant_id}', ''],
    ['DELETE /assistants/{assistant_id}', 'delete_threads'],
    ['PATCH /assistants/{assistant_id}', 'graph_id config context metadata name description'],
    ['GET /assistants/{assistant_id}/graph', 'xray'],
    ['GET /assistants/{assistant_id}/subgraphs', 'recurse'],
    ['GET /assistants/{assistant_id}/subgraphs/{namespace}', 'recurse'],
    ['GET /assistants/{assistant_id}/schemas', ''],
    ['POST /assistants/{assistant_id}/versions', ''],
    ['POST /assistants/{assistant_id}/latest', 'version'],
  ],
  Threads: [
    ['POST /threads', 'thread_id metadata if_exists ttl supersteps'],
    ['POST /threads/search', 'ids metadata values status limit offset sort_by sort_order select extract'],
    ['POST /threads/count', 'metadata values status'],
    ['POST /threads/prune', 'thread_ids strategy'],
    ['GET /threads/{thread_id}/storage', ''],
    ['GET /threads/{thread_id}/state', 'subgraphs select'],
    ['POST /threads/{thread_id}/state', 'values checkpoint as_node checkpoint_id'],
    ['GET /threads/{thread_id}/state/{checkpoint_id}', 'subgraphs'],
    ['POST /threads/{thread_id}/state/checkpoint', 'checkpoint subgraphs select'],
    ['GET /threads/{thread_id}/history', 'limit before'],
    ['POST /threads/{thread_id}/history', 'limit before metadata checkpoint select'],
    ['POST /threads/{thread_id}/copy', ''],
    ['GET /threads/{thread_id}', 'include'],
    ['DELETE /threads/{thread_id}', ''],
    ['PATCH /threads/{thread_id}', 'metadata ttl'],
    ['GET /threads/{thread_id}/stream', 'Last-Event-ID stream_mode'],
  ],
  Runs: [
    ['GET /threads/{thread_id}/runs', 'limit offset status select'],
    [
      'POST /threads/{thread_id}/runs',
      [
        'assistant_id checkpoint input command metadata config context webhook interrupt_before interrupt_after',
        'stream_mode stream_subgraphs stream_resumable feedback_keys multitask_strategy if_not_exists',
        'after_seconds checkpoint_during durability checkpoint_id strict_resume langsmith_tracer',
      ].join(' '),
    ],
    [
      'POST /threads/{thread_id}/runs/stream',
      [
        'assistant_id checkpoint input command metadata config context webhook interrupt_before interrupt_after',
        'stream_mode stream_subgraphs stream_resumable feedback_keys multitask_strategy if_not_exists',
        'after_seconds checkpoint_during durability on_disconnect checkpoint_id strict_resume langsmith_tracer',
      ].join(' '),
    ],
    [
      'POST /threads/{thread_id}/runs/wait',
      [
        'assistant_id checkpoint input command metadata config context webhook interrupt_before interrupt_after',
        'stream_mode stream_subgraphs stream_resumable feedback_keys multitask_strategy if_not_exists',
        'after_seconds checkpoint_during durability on_disconnect checkpoint_id strict_resume langsmith_tracer',
      ].join(' '),
    ],
    ['GET /threads/{thread_id}/runs/{run_id}', ''],
    ['DELETE /threads/{thread_id}/runs/{run_id}', ''],
    ['GET /threads/{thread_id}/runs/{run_id}/join', 'cancel_on_disconnect'],
    ['GET /threads/{thread_id}/runs/{run_id}/stream', 'Last-Event-ID stream_mode cancel_on_disconnect'],
    ['POST /threads/{thread_id}/runs/{run_id}/cancel', 'wait action reason'],
    [
      'POST /runs/stream',
      [
        'assistant_id input command metadata config context webhook stream_mode feedback_keys stream_subgraphs',
        'stream_resumable on_completion after_seconds checkpoint_during durability on_disconnect checkpoint_id',
        'strict_resume langsmith_tracer',
      ].join(' '),
    ],
    ['POST /runs/cancel', 'action status thread_id run_ids'],
    [
      'POST /runs/wait',
      [
        'assistant_id input command metadata config context webhook stream_mode feedback_keys stream_subgraphs',
        'stream_resumable on_completion after_seconds checkpoint_during durability on_disconnect checkpoint_id',
        'strict_resume langsmith_tracer',
      ].join(' '),
    ],
    [
      'POST /runs',
      [
        'assistant_id input command metadata config context webhook stream_mode feedback_keys stream_subgraphs',
        'stream_resumable on_completion after_seconds checkpoint_during durability checkpoint_id strict_resume',
        'langsmith_tracer',
      ].join(' '),
    ],
    [
      'POST /runs/batch',
      [
        'assistant_id input command metadata config context webhook stream_mode feedback_keys stream_subgraphs',
        'stream_resumable on_completion after_seconds checkpoint_during durability checkpoint_id strict_resume',
        'langsmith_tracer',
      ].join(' '),
    ],
  ],
  Crons: [
    [
      'POST /threads/{thread_id}/runs/crons',
      [
        'schedule timezone end_time assistant_id input metadata config context webhook interrupt_before',
        'interrupt_after multitask_strategy enabled stream_mode stream_subgraphs stream_resumable durability',
      ].join(' '),
    ],
    [
      'POST /runs/crons',
      [
        'schedule timezone end_time assistant_id input metadata config context webhook interrupt_before',
        'interrupt_after on_run_completed enabled stream_mode stream_subgraphs stream_resumable durability',
      ].join(' '),
    ],
    ['POST /runs/crons/search', 'assistant_id thread_id enabled metadata limit offset sort_by sort_order select'],
    ['POST /runs/crons/count', 'assistant_id thread_id metadata'],
    ['GET /runs/crons/{cron_id}', ''],
    [
      'PATCH /runs/crons/{cron_id}',
      [
        'schedule timezone end_time input metadata config context webhook interrupt_before interrupt_after',
        'on_run_completed enabled stream_mode stream_subgraphs stream_resumable durability',
      ].join(' '),
    ],
    ['DELETE /runs/crons/{cron_id}', ''],
  ],
  Store: [
    ['PUT /store/items', 'namespace key value index ttl'],
    ['DELETE /store/items', 'namespace key'],
    ['GET /store/items', 'key namespace refresh_ttl'],
    ['POST /store/items/search', 'namespace_prefix filter limit offset query refresh_ttl'],
    ['POST /store/namespaces', 'prefix suffix max_depth limit offset'],
  ],
  'Streaming protocol': [
    ['POST /threads/{thread_id}/stream/events', 'channels namespaces depth since'],
    ['POST /threads/{thread_id}/commands', 'id method params'],
  ],
  System: [
    ['GET /info', ''],
    ['GET /ok', 'check_db'],
    ['GET /openapi.json', ''],
  ],
};
