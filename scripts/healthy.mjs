// The health check of a container, whose image has no curl: exit code 0 when the URL answers with 2xx in time.
const [url] = process.argv.slice(2);
try {
  // The engine ends it after its `timeout`.
  const { ok, status } = await fetch(url);
  if (!ok) throw new Error(`it answered ${status}`);
} catch (error) {
  console.error(`${url}: ${error.cause?.message || error.message}`);
  process.exitCode = 1;
}
