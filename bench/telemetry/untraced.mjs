// Loaded into the bench's worker before its own code: publishes as if there were no hooks for traces.
import spans from '../../dist/tracing/publishSpans.js';

if (typeof spans.tracePublishes !== 'function') throw new Error('dist/tracing/publishSpans.js has no tracePublishes');
spans.tracePublishes = (_events, settle) => settle;
