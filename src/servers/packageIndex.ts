import { download } from './download';

/** The public Python package index; `OUTBOX_PYPI_URL` names a mirror of it. */
export function packageIndexUrl(env: NodeJS.ProcessEnv = process.env): string {
  return (env.OUTBOX_PYPI_URL || 'https://pypi.org').replace(/\/+$/, '');
}

/** A file of a project, found through the index's simple API, which mirrors offer as JSON or as HTML. */
export async function downloadFromIndex(project: string, file: string): Promise<Uint8Array> {
  const page = `${packageIndexUrl()}/simple/${project}/`;
  const accept = 'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1';
  const text = Buffer.from(await download(page, { accept })).toString('utf8');
  const link = text.trimStart().startsWith('{') ? linkInJson(text, file) : linkInHtml(text, file);
  if (!link) throw new Error(`it does not list ${file}`);
  return download(new URL(link, page).href);
}

function linkInJson(text: string, file: string): string | undefined {
  const { files } = JSON.parse(text) as { files: { filename: string; url: string }[] };
  return files.find((each) => each.filename === file)?.url;
}

function linkInHtml(text: string, file: string): string | undefined {
  const links = [...text.matchAll(/href="([^"#]+)[^"]*"/g)].map((match) => match[1]?.replaceAll('&amp;', '&'));
  return links.find((link) => decodeURIComponent(link ?? '').endsWith(`/${file}`));
}
