// Bundles the workflows into dist/ once per build, so that a worker starts without webpack.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const { bundleWorkflowCode, DefaultLogger } = require('@temporalio/worker');
const dist = (path) => fileURLToPath(new URL(`../dist/${path}`, import.meta.url));

const { code } = await bundleWorkflowCode({
  workflowsPath: dist('workflows/index.js'),
  payloadConverterPath: dist('workflows/payloadConverter.js'),
  logger: new DefaultLogger('WARN'),
});
writeFileSync(dist('workflow-bundle.js'), code);
