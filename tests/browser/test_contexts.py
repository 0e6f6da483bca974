"""A test finds nothing that earlier tests left in the browser they share."""

from tests.browser.browser_page import borrow_page

KEEP = """async () => {
    localStorage.setItem('left', 'there');
    sessionStorage.setItem('left', 'there');
    document.cookie = 'left=there; path=/';
    await (await caches.open('left')).put('/left', new Response('there'));
    const opened = indexedDB.open('left');
    await new Promise(done => { opened.onsuccess = done; });
    opened.result.close();
}"""
FOUND = """async () => ({
    local: localStorage.getItem('left'),
    session: sessionStorage.getItem('left'),
    cookie: document.cookie.includes('left'),
    caches: await caches.keys(),
    databases: (await indexedDB.databases()).map(one => one.name),
    permission: (await navigator.permissions.query({ name: 'notifications' })).state,
    online: navigator.onLine,
})"""


def test_what_one_leaves_behind_the_next_does_not_find(contexts, seeded):
    seen = []
    for _ in range(2):
        for lent in borrow_page(contexts, seeded):
            context = lent.page.context
            lent.go("/projects")
            seen.append((context, lent.page.evaluate(FOUND)))
            lent.page.evaluate(KEEP)
            assert lent.page.evaluate(FOUND) != seen[0][1]
            context.grant_permissions(["notifications"], origin=seeded.url)
            context.set_offline(True)
    (first, before), (second, after) = seen
    assert first is second
    assert before == after
